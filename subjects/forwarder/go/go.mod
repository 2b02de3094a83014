module forwarder

go 1.21
