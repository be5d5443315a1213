// Package target finds the members of a service by a text that says where they are
// listed:
//
//	static:10.0.0.1:80,10.0.0.2:80    these addresses
//	file:/etc/orders/backends.txt     a file with one address on each line
//	dns:orders.internal:8080          the addresses of a name, and this port
//	dns:///orders.internal:8080       the same, as gRPC writes it
//	dns+srv:_http._tcp.orders.internal    the SRV records of a name
//
// [Parse] reads such a text. A [Target] makes the poller that keeps a directory equal
// to it. The package does input and output, which package discovery does not.
package target
