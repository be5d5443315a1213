package poisegrpc_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/status"

	"github.com/copyleftdev/poise-go/adapters/poisegrpc"
	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/observe"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A call is given to an endpoint that has a connection, that takes calls, and that the policy chose.
func TestBalancer_TakesTurns(t *testing.T) {
	servers := []*server{serve(t, &server{}), serve(t, &server{}), serve(t, &server{})}
	c := dial(t, poisegrpc.Name, `{"policy": "round_robin"}`, endpoints(servers...)...)
	c.connect(t, servers...)
	before := make([]int64, len(servers))
	for i, s := range servers {
		before[i] = s.calls.Load()
	}
	for range 30 {
		if err := c.call(within(t)); err != nil {
			t.Fatal(err)
		}
	}
	for i, s := range servers {
		if n := s.calls.Load() - before[i]; n != 10 {
			t.Errorf("server %d got %d of 30 calls", i, n)
		}
	}
}

func TestBalancer_KeepsTheWeightsOfAResolver(t *testing.T) {
	servers := []*server{serve(t, &server{}), serve(t, &server{})}
	list := endpoints(servers...)
	heavy, err := poise.NewWeight(3)
	if err != nil {
		t.Fatal(err)
	}
	list[1] = poisegrpc.WithAttributes(list[1], poisegrpc.Attributes{Weight: heavy})
	c := dial(t, poisegrpc.Name, `{"policy": "smooth_weighted_round_robin", "passiveHealthOff": true}`, list...)
	c.connect(t, servers...)
	before := []int64{servers[0].calls.Load(), servers[1].calls.Load()}
	for range 40 {
		if err := c.call(within(t)); err != nil {
			t.Fatal(err)
		}
	}
	if a, b := servers[0].calls.Load()-before[0], servers[1].calls.Load()-before[1]; a != 10 || b != 30 {
		t.Errorf("weights 1 and 3 got %d and %d of 40 calls", a, b)
	}
}

func TestBalancer_KeepsAKeyAtItsEndpoint(t *testing.T) {
	servers := []*server{serve(t, &server{}), serve(t, &server{}), serve(t, &server{})}
	c := dial(t, poisegrpc.Name, `{"policy": "rendezvous", "keyMetadata": "user"}`, endpoints(servers...)...)
	for _, user := range strings.Fields("a b c d e f g h i j k l") { // until all are connected
		ctx := metadata.AppendToOutgoingContext(within(t), "user", user)
		for range 5 {
			if err := c.call(ctx, grpc.WaitForReady(true)); err != nil {
				t.Fatal(err)
			}
		}
	}
	c.connectKeys(t, servers)
	before := make([]int64, len(servers))
	for i, s := range servers {
		before[i] = s.calls.Load()
	}
	ctx := metadata.AppendToOutgoingContext(within(t), "user", "me")
	for range 20 {
		if err := c.call(ctx); err != nil {
			t.Fatal(err)
		}
	}
	var got []int64
	for i, s := range servers {
		if n := s.calls.Load() - before[i]; n > 0 {
			got = append(got, n)
		}
	}
	if len(got) != 1 || got[0] != 20 {
		t.Errorf("one key went to %v", got)
	}
	if err := c.call(within(t), grpc.WaitForReady(true)); status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "key") {
		t.Errorf("a call without a key gets %v", err)
	}
}

// connectKeys calls with many keys until every server was called.
func (c *client) connectKeys(t *testing.T, servers []*server) {
	t.Helper()
	ctx := within(t)
	for i := 0; ; i++ {
		missing := false
		for _, s := range servers {
			missing = missing || s.calls.Load() == 0
		}
		if !missing {
			return
		}
		key := metadata.AppendToOutgoingContext(ctx, "user", strings.Repeat("x", i%50))
		if err := c.call(key, grpc.WaitForReady(true)); ctx.Err() != nil {
			t.Fatal(err)
		}
	}
}

// A server that fails every call is left out after some of them.
func TestBalancer_LeavesOutWhoFails(t *testing.T) {
	broken := serve(t, &server{check: func(context.Context) error { return status.Error(codes.Internal, "broken") }})
	sound := []*server{serve(t, &server{}), serve(t, &server{})}
	c := dial(t, poisegrpc.Name, `{}`, endpoints(append(sound, broken)...)...)
	c.connect(t, append(sound, broken)...)
	for range 100 {
		_ = c.call(within(t))
	}
	before, failed := broken.calls.Load(), 0
	for range 300 {
		if err := c.call(within(t)); err != nil {
			failed++
		}
	}
	if n := broken.calls.Load() - before; n > 15 || failed > 15 {
		t.Errorf("a server that fails got %d of 300 calls, and %d failed", n, failed)
	}
}

// Faults of requests are held against nobody.
func TestBalancer_BlamesNobodyForABadRequest(t *testing.T) {
	refuse := func(context.Context) error { return status.Error(codes.InvalidArgument, "bad") }
	servers := []*server{serve(t, &server{check: refuse}), serve(t, &server{check: refuse})}
	metrics := new(observe.Metrics)
	name := register(t, func(cfg *poisegrpc.Config) { cfg.Loop.Observer = metrics })
	c := dial(t, name, `{}`, endpoints(servers...)...)
	c.connect(t, servers...)
	for range 200 {
		if err := c.call(within(t)); status.Code(err) != codes.InvalidArgument {
			t.Fatalf("the call gets %v", err)
		}
	}
	if s := metrics.Snapshot(); s.Became(poise.ExcludedEjected) != 0 || s.Attempts(observe.AttemptFailure) != 0 || s.Attempts(observe.AttemptSuccess) < 200 {
		t.Errorf("%d are ejected, %d calls failed and %d succeeded", s.Became(poise.ExcludedEjected), s.Attempts(observe.AttemptFailure), s.Attempts(observe.AttemptSuccess))
	}
}

// register registers a balancer of its own for a test, and returns its name.
func register(t *testing.T, edit func(*poisegrpc.Config)) string {
	name := "poise-" + strings.ReplaceAll(strings.ToLower(t.Name()), "/", "-")
	var cfg poisegrpc.Config
	edit(&cfg)
	balancer.Register(poisegrpc.NewBuilder(name, cfg))
	return name
}

// A call for which there is no room waits until there is, or until its context ends.
func TestBalancer_HasCallsWaitForRoom(t *testing.T) {
	entered, leave := make(chan struct{}, 40), make(chan struct{})
	hold := func(context.Context) error {
		entered <- struct{}{}
		<-leave
		return nil
	}
	servers := []*server{serve(t, &server{check: hold}), serve(t, &server{check: hold})}
	c := dial(t, poisegrpc.Name, `{"limit": 2, "passiveHealthOff": true}`, endpoints(servers...)...)
	var group sync.WaitGroup
	errs := make(chan error, 40)
	for range 40 {
		group.Go(func() { errs <- c.call(within(t), grpc.WaitForReady(true)) })
	}
	for range 4 {
		select {
		case err := <-errs:
			t.Fatalf("a call ended: %v", err)
		case <-entered:
		}
	}
	// One that does not want to wait for long.
	short, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if err := c.call(short); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("a call that finds no room gets %v", err)
	}
	close(leave)
	group.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			t.Error(err)
		}
	}
	for i, s := range servers {
		if most := s.most.Load(); most > 2 {
			t.Errorf("server %d had %d calls at once", i, most)
		}
	}
}

// A stream holds its place until it ends.
func TestBalancer_HoldsTheSlotOfAStream(t *testing.T) {
	finish := make(chan struct{})
	s := serve(t, &server{watch: func(stream grpc.ServerStreamingServer[healthpb.HealthCheckResponse]) error {
		if err := stream.Send(new(healthpb.HealthCheckResponse)); err != nil {
			return err
		}
		<-finish
		return nil
	}})
	c := dial(t, poisegrpc.Name, `{"limit": 1}`, endpoints(s)...)
	stream, err := c.Watch(within(t), new(healthpb.HealthCheckRequest), grpc.WaitForReady(true))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if err := c.call(short); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("beside a stream a call gets %v", err)
	}
	close(finish)
	if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("the stream ends with %v", err)
	}
	if err := c.call(within(t)); err != nil {
		t.Errorf("after the stream a call gets %v", err)
	}
}

// A call waits while endpoints connect, and fails as Unavailable when none can, unless it waits for ready.
func TestBalancer_WaitsForReadyOrSaysWhyNot(t *testing.T) {
	s := serve(t, &server{})
	s.grpc.Stop()
	c := dial(t, poisegrpc.Name, `{}`, endpoints(s)...)
	if err := c.call(within(t)); status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("nobody listens, and the call gets %v", err)
	}
	waits := make(chan error, 1)
	go func() { waits <- c.call(within(t), grpc.WaitForReady(true)) }()
	again := serve(t, &server{address: s.address})
	if err := <-waits; err != nil || again.calls.Load() != 1 {
		t.Errorf("who waits for ready gets %v", err)
	}
	c.list()
	if err := c.call(within(t)); status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "no candidates") {
		t.Errorf("the list is empty, and the call gets %v", err)
	}
}

func TestBalancer_SaysWhatAResolverFailsWith(t *testing.T) {
	conn, err := grpc.NewClient("lost:///backend", grpc.WithResolvers(lost{}), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultServiceConfig(`{"loadBalancingConfig": [{"poise": {}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_, err = healthpb.NewHealthClient(conn).Check(within(t), new(healthpb.HealthCheckRequest))
	if status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "no such name") {
		t.Errorf("without a list a call gets %v", err)
	}
}

// lost is a resolver that finds nobody.
type lost struct{}

func (lost) Scheme() string { return "lost" }

func (l lost) Build(_ resolver.Target, cc resolver.ClientConn, _ resolver.BuildOptions) (resolver.Resolver, error) {
	cc.ReportError(errors.New("no such name"))
	return l, nil
}

func (lost) ResolveNow(resolver.ResolveNowOptions) {}
func (lost) Close()                                {}

// A resolver that changes its list keeps the connections, the calls and the health of endpoints that stay.
func TestBalancer_DrainsAndChanges(t *testing.T) {
	finish := make(chan struct{})
	watch := func(stream grpc.ServerStreamingServer[healthpb.HealthCheckResponse]) error {
		if err := stream.Send(new(healthpb.HealthCheckResponse)); err != nil {
			return err
		}
		<-finish
		return nil
	}
	old, stays := serve(t, &server{watch: watch}), serve(t, &server{})
	list := endpoints(old)
	c := dial(t, poisegrpc.Name, `{"policy": "round_robin"}`, list...)
	stream, err := c.Watch(within(t), new(healthpb.HealthCheckRequest), grpc.WaitForReady(true))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err != nil {
		t.Fatal(err)
	}
	draining := poisegrpc.WithAttributes(list[0], poisegrpc.Attributes{Status: poise.Draining})
	c.list(append(endpoints(stays), draining)...)
	before := old.calls.Load()
	for range 20 {
		if err := c.call(within(t), grpc.WaitForReady(true)); err != nil {
			t.Fatal(err)
		}
	}
	if n := old.calls.Load() - before; n != 0 || stays.calls.Load() != 20 {
		t.Errorf("one that drains got %d of 20 calls", n)
	}
	close(finish)
	if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("the stream of one that drains ends with %v", err)
	}
}

// A list that no policy can serve changes nothing, and is asked for again.
func TestBalancer_KeepsItsListWhenTheNextIsBad(t *testing.T) {
	servers := []*server{serve(t, &server{}), serve(t, &server{})}
	list := endpoints(servers...)
	c := dial(t, poisegrpc.Name, `{"topology": "locality"}`, list...)
	c.connect(t, servers...)
	heavy, err := poise.NewWeight(2)
	if err != nil {
		t.Fatal(err)
	}
	bad := []resolver.Endpoint{
		poisegrpc.WithAttributes(list[0], poisegrpc.Attributes{Locality: "a"}),
		poisegrpc.WithAttributes(list[1], poisegrpc.Attributes{Locality: "a", LocalityWeight: heavy}),
	}
	for range 2 { // by the settings there are, and by others
		c.list(bad...)
		if err := c.call(within(t)); err != nil {
			t.Errorf("after a bad list a call gets %v", err)
		}
		other := c.resolver.CC().ParseServiceConfig(`{"loadBalancingConfig": [{"poise": {"topology": "locality", "limit": 9}}]}`)
		c.resolver.UpdateState(resolver.State{Endpoints: bad, ServiceConfig: other})
		if err := c.call(within(t)); err != nil {
			t.Errorf("after a bad list with other settings a call gets %v", err)
		}
	}
	c.list(list[1:]...)
	before := servers[1].calls.Load()
	if err := c.call(within(t), grpc.WaitForReady(true)); err != nil || servers[1].calls.Load() != before+1 {
		t.Errorf("after a good list a call gets %v", err)
	}
}

// Backups take over while no primary has a connection.
func TestBalancer_FallsBackToTheNextPriority(t *testing.T) {
	primary, backup := serve(t, &server{}), serve(t, &server{})
	list := endpoints(primary, backup)
	list[1] = poisegrpc.WithAttributes(list[1], poisegrpc.Attributes{Priority: 1})
	c := dial(t, poisegrpc.Name, `{"policy": "round_robin", "topology": "priority"}`, list...)
	c.connect(t, primary)
	primary.grpc.Stop()
	ctx, before := within(t), backup.calls.Load() // it may have served while the primary connected
	for backup.calls.Load() == before {
		if _ = c.call(ctx); ctx.Err() != nil {
			t.Fatal("the backup gets no call")
		}
	}
	for range 20 {
		if err := c.call(within(t)); err != nil {
			t.Errorf("while the backup serves a call gets %v", err)
		}
	}
	again := serve(t, &server{address: primary.address})
	for again.calls.Load() == 0 {
		if _ = c.call(ctx); ctx.Err() != nil {
			t.Fatal("the primary that came back gets no call")
		}
	}
}

// Another service config makes another loop; calls go on.
func TestBalancer_TakesAnotherServiceConfig(t *testing.T) {
	servers := []*server{serve(t, &server{}), serve(t, &server{})}
	c := dial(t, poisegrpc.Name, `{}`, endpoints(servers...)...)
	c.connect(t, servers...)
	stop := make(chan struct{})
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if err := c.call(within(t)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for i, name := range poisegrpc.Policies() {
		settings := `{"loadBalancingConfig": [{"poise": {"policy": "` + name + `", "keyMetadata": "user"}}]}`
		if strings.Contains("ring_hash maglev rendezvous bounded_load_rendezvous", name) {
			continue // the calls have no key
		}
		list := endpoints(servers...)
		c.resolver.UpdateState(resolver.State{Endpoints: list, ServiceConfig: c.resolver.CC().ParseServiceConfig(settings)})
		before := servers[i%2].calls.Load()
		for servers[i%2].calls.Load() < before+20 && !t.Failed() {
			if err := c.call(within(t)); err != nil {
				t.Errorf("under %s a call gets %v", name, err)
			}
		}
	}
	close(stop)
	group.Wait()
}

func TestBalancer_ExplainsItsPicks(t *testing.T) {
	servers := []*server{serve(t, &server{}), serve(t, &server{})}
	var mu sync.Mutex
	var told []string
	name := register(t, func(cfg *poisegrpc.Config) {
		cfg.NewPolicy = func() (poise.Policy, error) { return last{}, nil }
		cfg.Explain = func(info balancer.PickInfo, d *poise.Decision) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, info.FullMethodName+" "+d.Policy)
		}
	})
	c := dial(t, name, `{}`, endpoints(servers...)...)
	if err := c.call(within(t), grpc.WaitForReady(true)); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(told) == 0 || told[len(told)-1] != "/grpc.health.v1.Health/Check last" {
		t.Errorf("told was %q", told)
	}
}

// last is a policy of a user's own.
type last struct{}

func (last) Prepare(v *poise.View) (poise.Picker, error) { return lastOf{v}, nil }

type lastOf struct{ view *poise.View }

func (p lastOf) Pick(q poise.Query) (poise.Selection, error) {
	if err := p.view.Check(); err != nil {
		return poise.Selection{}, err
	}
	rest := p.view.Untried(q.Tried)
	if rest.Len() == 0 {
		return poise.Selection{}, poise.ErrAllTried
	}
	if q.Why != nil {
		q.Why.View, q.Why.Policy, q.Why.Rule = p.view, "last", "the last one"
	}
	return p.view.Select(rest.At(rest.Len() - 1))
}

// Lists that change, servers that stop and calls that are given up, all at once, under
// the race detector.
func TestBalancer_HoldsUnderStress(t *testing.T) {
	servers := []*server{serve(t, &server{}), serve(t, &server{}), serve(t, &server{})}
	list := endpoints(servers...)
	c := dial(t, poisegrpc.Name, `{"limit": 3}`, list...)
	c.connect(t, servers...)
	var group sync.WaitGroup
	for k := range 6 {
		group.Go(func() {
			for i := range 300 {
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(1+(i+k)%7*3)*time.Millisecond)
				_ = c.call(ctx, grpc.WaitForReady(i%2 == 0))
				cancel()
			}
		})
	}
	for i := range 60 {
		c.list(list[i%3:]...)
		if i == 30 {
			servers[2].grpc.Stop()
		}
		_ = c.call(within(t)) // whatever comes of it, it takes its time
	}
	group.Wait()
	c.list(list...)
	if err := c.call(within(t), grpc.WaitForReady(true)); err != nil {
		t.Errorf("afterwards a call gets %v", err)
	}
}
