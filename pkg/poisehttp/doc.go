// Package poisehttp is the net/http face of the loop of package dispatch.
//
// [NewClient] makes an http.Client for the endpoints of a target such as
// "dns:orders.internal:8080". [New] makes a [Transport], an http.RoundTripper over
// several [Endpoint] values, for everything that a Client does not do: reverse
// proxies, endpoints and policies of one's own, many hosts. [HTTPProbe] and [TCPProbe]
// ask an endpoint how it is.
//
// # Files
//
// Each file refers to those listed before it, and to no other; a test counts.
//
//	errors.go
//	endpoint.go
//	local_error.go
//	local_error_plan9.go
//	classify.go
//	request.go
//	hosts.go
//	override.go
//	event.go
//	metrics.go
//	config.go
//	conn.go
//	request_body.go
//	small_body.go
//	informational.go
//	http_endpoint.go
//	http_probe.go
//	tcp_probe.go
//	caller.go
//	watchdog.go
//	core.go
//	attempt.go
//	response_body.go
//	call.go
//	transport.go
//	client.go
package poisehttp
