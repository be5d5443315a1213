package fuzz

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/discovery"
	"github.com/copyleftdev/poise-go/pkg/dispatch"
	"github.com/copyleftdev/poise-go/pkg/health"
	"github.com/copyleftdev/poise-go/pkg/poisehttp"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

// joined is the endpoint of one incarnation, which counts what is open at it.
type joined struct {
	id           string
	incarnation  uint64
	open, closed int
	world        *membershipWorld
}

func (j *joined) RoundTrip(*http.Request) (*http.Response, error) {
	j.world.mu.Lock()
	defer j.world.mu.Unlock()
	if j.closed > 0 {
		j.world.t.Errorf("%s/%d was closed and gets a call", j.id, j.incarnation)
	}
	j.open++
	j.world.served = j
	return &http.Response{StatusCode: http.StatusOK, Body: &joinedBody{at: j, text: strings.NewReader("served")}}, nil
}

func (j *joined) Close() error {
	j.world.mu.Lock()
	defer j.world.mu.Unlock()
	if j.closed++; j.open > 0 {
		j.world.t.Errorf("%s/%d is closed with %d calls open", j.id, j.incarnation, j.open)
	}
	return nil
}

// joinedBody is over at its end or its close, whichever comes first.
type joinedBody struct {
	at   *joined
	text io.Reader
	over bool
}

func (b *joinedBody) Read(p []byte) (int, error) {
	n, err := b.text.Read(p)
	if err == io.EOF {
		_ = b.Close()
	}
	return n, err
}

func (b *joinedBody) Close() error {
	b.at.world.mu.Lock()
	defer b.at.world.mu.Unlock()
	if !b.over {
		b.over = true
		b.at.open--
	}
	return nil
}

// membershipWorld is a directory of values of which 0 cannot be connected, a Balancer
// that follows it, and the calls that are open.
type membershipWorld struct {
	t    *testing.T
	d    *discovery.Directory[int]
	s    *discovery.Session[int]
	b    *poisehttp.Transport
	held []*http.Response

	mu sync.Mutex
	// Guarded by mu, as are the counts of those that were made.
	made    []*joined
	served  *joined
	failing int // refused connects that were asked for
}

var errUnconnected = errors.New("unconnected")

func newMembershipWorld(t *testing.T) *membershipWorld {
	w := &membershipWorld{t: t}
	var err error
	if w.d, err = discovery.New(discovery.Config[int]{Equal: func(a, b int) bool { return a == b }}); err != nil {
		t.Fatal(err)
	}
	w.restart()
	members, err := dispatch.DirectorySource(dispatch.DirectoryConfig[int, poisehttp.Endpoint]{
		Directory: w.d,
		Connect: func(m discovery.Member[int]) (poisehttp.Endpoint, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			if m.Value == 0 {
				w.failing++
				return nil, errUnconnected
			}
			j := &joined{id: m.ID, incarnation: m.Incarnation, world: w}
			w.made = append(w.made, j)
			return j, nil
		},
		Describe: func(m discovery.Member[int]) (poisehttp.Member, error) {
			return poisehttp.Member{Priority: uint32(m.Value)}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	w.b, err = poisehttp.New(poisehttp.Config{
		Loop: dispatch.LoopConfig{Policy: new(policy.RoundRobin), Passive: health.PassiveHealthConfig{Off: true}}, Source: members,
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *membershipWorld) restart() {
	var err error
	if w.s, err = w.d.Open("source"); err != nil {
		w.t.Fatal(err)
	}
}

// step does what one byte of the script says.
func (w *membershipWorld) step(op byte) {
	id, value := fmt.Sprint("id", op>>3&3), int(op>>5)
	switch op & 7 {
	case 0, 1:
		_, _ = w.s.Upsert(id, value)
	case 2:
		_, _ = w.s.Replace(id, value)
	case 3:
		_, _ = w.s.Remove(id)
	case 4:
		w.call()
	case 5:
		if len(w.held) > 0 {
			w.finish(int(op>>3) % len(w.held))
		}
	case 6:
		<-time.After(1100 * time.Millisecond) // of the bubble: who is refused is tried again
	default:
		w.restart()
		var list []discovery.Entry[int]
		for i := range 4 {
			if op>>3&(1<<i) != 0 {
				list = append(list, discovery.Entry[int]{ID: fmt.Sprint("id", i), Value: 1 + int(op>>7)})
			}
		}
		_, _ = w.s.Reconcile(list)
	}
	synctest.Wait()
	w.compare()
}

// call makes a call that stays open, and looks where it went.
func (w *membershipWorld) call() {
	eligible := map[string]uint64{}
	for _, s := range w.b.Endpoints() {
		if s.Reason == poise.NotExcluded {
			eligible[s.ID] = s.Incarnation
		}
	}
	req, err := http.NewRequest(http.MethodGet, "http://service.example.com/", http.NoBody)
	if err != nil {
		w.t.Fatal(err)
	}
	resp, err := w.b.RoundTrip(req)
	if (err == nil) != (len(eligible) > 0) {
		w.t.Fatalf("the call ended with %v, of %v", err, eligible)
	}
	if err != nil {
		return
	}
	if eligible[w.served.id] != w.served.incarnation {
		w.t.Fatalf("the call went to %s/%d, of %v", w.served.id, w.served.incarnation, eligible)
	}
	w.held = append(w.held, resp)
}

func (w *membershipWorld) finish(i int) {
	if body, err := io.ReadAll(w.held[i].Body); string(body) != "served" || err != nil {
		w.t.Fatalf("a call was cut short: %q, %v", body, err)
	}
	_ = w.held[i].Body.Close()
	w.held = append(w.held[:i], w.held[i+1:]...)
}

// compare holds the Balancer against the directory once everything has settled.
func (w *membershipWorld) compare() {
	w.mu.Lock()
	defer w.mu.Unlock()
	snapshot, states := w.d.Load(), w.b.Endpoints()
	if err := w.b.PublishError(); err != nil {
		if !errors.Is(err, errUnconnected) || w.failing == 0 {
			w.t.Fatalf("PublishError is %v", err)
		}
		return // the last good list
	}
	if len(states) != snapshot.Len() {
		w.t.Fatalf("the Balancer has %v, the directory %d members", states, snapshot.Len())
	}
	for i, m := range snapshot.All() {
		s := states[i]
		if s.ID != m.ID || s.Incarnation != m.Incarnation || (s.Reason == poise.ExcludedDraining) != m.Draining {
			w.t.Fatalf("the Balancer has %+v, the directory %+v", s, m)
		}
		if m.Draining && s.InFlight == 0 {
			w.t.Fatalf("%s drains and holds nothing", m.ID)
		}
		open := 0
		for _, j := range w.made {
			if j.incarnation == m.Incarnation && j.closed == 0 {
				open += j.open
			}
		}
		if uint64(open) != s.InFlight {
			w.t.Fatalf("%s holds %d slots, and %d calls are open", m.ID, s.InFlight, open)
		}
	}
}

// end lets every call end and closes the Balancer: then every endpoint was closed once.
func (w *membershipWorld) end() {
	for len(w.held) > 0 {
		w.finish(0)
	}
	synctest.Wait()
	w.compare()
	_ = w.b.Close()
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, j := range w.made {
		if j.closed != 1 || j.open != 0 {
			w.t.Fatalf("%s/%d was closed %d times and has %d calls open", j.id, j.incarnation, j.closed, j.open)
		}
	}
}

// Claim: A Balancer has the members and incarnations of the newest snapshot of its Directory, and one endpoint for each incarnation.
//
// Claim: A draining member leaves the Directory when its last call has ended or DrainFor is over, and no call is cut short.
//
// Claim: A Transport closes an Endpoint once, after it was removed and its last call has ended.
//
// Cases: B44, B45, B47.
func FuzzMembership(f *testing.F) {
	f.Add([]byte{32, 40, 4, 4, 3, 5, 5})              // joins, calls, a drain that ends
	f.Add([]byte{32, 4, 34, 5, 0, 2, 6, 35})          // replaced under a call, and by one that cannot be connected
	f.Add([]byte{32, 4, 3, 32, 3, 5, 32})             // revived, and back as another incarnation
	f.Add([]byte{127, 4, 4, 4, 4, 15, 5, 5, 7, 5, 5}) // whole lists of a source that restarts
	f.Fuzz(func(t *testing.T, script []byte) {
		synctest.Test(t, func(t *testing.T) {
			w := newMembershipWorld(t)
			defer w.b.Close()
			for _, op := range script[:min(len(script), 200)] {
				w.step(op)
			}
			w.end()
		})
	})
}
