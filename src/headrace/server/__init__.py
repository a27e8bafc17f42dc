"""What people and programs reach over the network: users and access, REST and the console."""
