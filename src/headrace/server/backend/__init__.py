"""The console's backend over the services of this process: no request goes over the network."""
