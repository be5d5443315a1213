package poisegrpc

import (
	poise "github.com/copyleftdev/poise-go/pkg"
	"google.golang.org/grpc/resolver"
)

// Attributes are what a resolver says of an endpoint. The zero value says nothing.
type Attributes struct {
	// Weight is the share against the others; zero value 1.
	Weight poise.Weight
	// Status is Ready, Draining or Unavailable.
	Status poise.Status
	// Priority and Locality place the endpoint in a topology.
	Priority       uint32
	Locality       string
	LocalityWeight poise.Weight
	// PanicOptOut withholds the endpoint from panic routing while it is not eligible.
	PanicOptOut bool
	// Limit is how many calls the endpoint may hold at once, in place of that of the
	// service config; 0 is that.
	Limit uint64
}

type attributesKey struct{}

// WithAttributes returns the endpoint with the Attributes, for a resolver to give to
// gRPC.
func WithAttributes(e resolver.Endpoint, a Attributes) resolver.Endpoint {
	e.Attributes = e.Attributes.WithValue(attributesKey{}, a)
	return e
}

// AttributesOf returns the Attributes of an endpoint; the zero value if it has none.
func AttributesOf(e resolver.Endpoint) Attributes {
	a, _ := e.Attributes.Value(attributesKey{}).(Attributes)
	return a
}
