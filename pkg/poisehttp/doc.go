// Package poisehttp is the net/http face of the loop of package dispatch.
//
// [NewClient] makes an http.Client for the endpoints of a target such as
// "dns:orders.internal:8080". [New] makes a [Transport], an http.RoundTripper over
// several [Endpoint] values, for everything that a Client does not do: reverse
// proxies, endpoints and policies of one's own, many hosts.
//
// The files refer to each other in one direction, from the first of these lines to
// the last:
//
//	client.go                                                NewClient
//	transport.go                                             the RoundTripper
//	call.go                                                  one RoundTrip, and when it is repeated
//	attempt.go                                               one attempt, until the end of its answer
//	response_body.go, watchdog.go                            the answer while it is read
//	config.go, override.go, event.go                         settings, and what is told
//	request_body.go, informational.go, small_body.go         what an attempt sends and hears first
//	request.go, hosts.go                                     what is not sent at all
//	http_probe.go, tcp_probe.go                              probes
//	http_endpoint.go, endpoint.go, conn.go                   connections
//	classify.go, local_error.go                              how an attempt is judged
//	errors.go, printable.go                                  errors, and what is printed in them
package poisehttp
