"""What several tests share: servers, topics, crashes."""
