package poisegrpc_test

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
)

// server is a real server that answers as its test wants, and counts.
type server struct {
	healthpb.UnimplementedHealthServer
	address string
	grpc    *grpc.Server
	calls   atomic.Int64
	holds   atomic.Int64 // calls that it has at the moment
	most    atomic.Int64 // the most it ever had
	check   func(context.Context) error
	watch   func(grpc.ServerStreamingServer[healthpb.HealthCheckResponse]) error
}

func (s *server) enter() (leave func()) {
	s.calls.Add(1)
	held := s.holds.Add(1)
	for most := s.most.Load(); held > most && !s.most.CompareAndSwap(most, held); most = s.most.Load() {
		continue
	}
	return func() { s.holds.Add(-1) }
}

func (s *server) Check(ctx context.Context, _ *healthpb.HealthCheckRequest) (*healthpb.HealthCheckResponse, error) {
	defer s.enter()()
	if s.check != nil {
		if err := s.check(ctx); err != nil {
			return nil, err
		}
	}
	return &healthpb.HealthCheckResponse{Status: healthpb.HealthCheckResponse_SERVING}, nil
}

func (s *server) Watch(_ *healthpb.HealthCheckRequest, stream grpc.ServerStreamingServer[healthpb.HealthCheckResponse]) error {
	defer s.enter()()
	return s.watch(stream)
}

// serve starts a server, at an address or at any.
func serve(t testing.TB, s *server) *server {
	t.Helper()
	at := s.address
	if at == "" {
		at = "127.0.0.1:0"
	}
	listener, err := net.Listen("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	s.address = listener.Addr().String()
	s.grpc = grpc.NewServer()
	healthpb.RegisterHealthServer(s.grpc, s)
	go func() { _ = s.grpc.Serve(listener) }()
	t.Cleanup(s.grpc.Stop)
	return s
}

// endpoints are those of servers.
func endpoints(servers ...*server) (list []resolver.Endpoint) {
	for _, s := range servers {
		list = append(list, resolver.Endpoint{Addresses: []resolver.Address{{Addr: s.address}}})
	}
	return list
}

// client is a connection whose list of endpoints a test changes.
type client struct {
	healthpb.HealthClient
	conn     *grpc.ClientConn
	resolver *manual.Resolver
}

func (c *client) list(list ...resolver.Endpoint) {
	c.resolver.UpdateState(resolver.State{Endpoints: list})
}

// dial returns a client of the endpoints, with the settings of a balancer in JSON.
func dial(t testing.TB, balancer, settings string, list ...resolver.Endpoint) *client {
	t.Helper()
	r := manual.NewBuilderWithScheme("test")
	r.InitialState(resolver.State{Endpoints: list})
	conn, err := grpc.NewClient("test:///backend",
		grpc.WithResolvers(r),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultServiceConfig(fmt.Sprintf(`{"loadBalancingConfig": [{%q: %s}]}`, balancer, settings)),
		grpc.WithConnectParams(grpc.ConnectParams{MinConnectTimeout: time.Second}),
	)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &client{healthpb.NewHealthClient(conn), conn, r}
}

// within is a context for what must not take long.
func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func (c *client) call(ctx context.Context, options ...grpc.CallOption) error {
	_, err := c.Check(ctx, new(healthpb.HealthCheckRequest), options...)
	return err
}

// connect calls until every server has been called, so that all are connected.
func (c *client) connect(t testing.TB, servers ...*server) {
	t.Helper()
	ctx := within(t)
	for {
		missing := false
		for _, s := range servers {
			missing = missing || s.calls.Load() == 0
		}
		if !missing {
			return
		}
		if err := c.call(ctx, grpc.WaitForReady(true)); ctx.Err() != nil {
			t.Fatalf("not every server is called: %v", err)
		}
	}
}
