"""What REST and the console both do: who asks and plain values go in, what they may see comes out."""
