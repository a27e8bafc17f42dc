"""What requests and answers hold, with examples: the words of OpenAPI."""
