// Explorable.

package health

import (
	"time"

	"github.com/copyleftdev/poise-go/pkg/internal/syncx"
)

// roomKnownFor is for how long a refusal says how many calls an endpoint takes, and
// roomServed for how long at least a call says so that was served.
const (
	roomKnownFor = int64(time.Second)
	roomServed   = int64(200 * time.Millisecond)
)

// knownRoom is how many calls of ours an endpoint takes at once, as far as its latest
// refusal and the calls that it served lately show it.
//
// The zero value knows nothing.
type knownRoom struct {
	// calls is beside how many others a call is refused, 0 if nothing is known; most is
	// beside how many one was served since since, at most.
	calls, most syncx.Int64

	// Guarded by the mutex of the fleet.
	at     int64 // instant of the last refusal
	since  int64 // instant
	before int64 // what most was before that
}

// refused notes that a call was refused beside others. Beside none it says nothing of
// room: the endpoint is busy with calls of somebody else, or serves nothing.
func (r *knownRoom) refused(others int16, at int64) {
	if others > 0 {
		r.calls.Store(max(int64(others), r.most.Load()+1, r.before+1))
		r.at = at
	}
}

// served notes that a call was served beside others. Of two at once one may be lost.
func (r *knownRoom) served(others int16) {
	calls, beside := r.calls.Load(), int64(others)
	if calls == 0 {
		return
	}
	if beside > r.most.Load() {
		r.most.Store(beside)
	}
	if beside >= calls {
		r.calls.Store(beside + 1)
	}
}

// fade forgets at the instant what is old.
func (r *knownRoom) fade(at int64) {
	switch {
	case r.calls.Load() == 0:
	case at-r.at > roomKnownFor:
		r.forget()
	case at-r.since > roomServed:
		r.before, r.since = r.most.Load(), at
		r.most.Store(0)
	}
}

func (r *knownRoom) forget() {
	if r.calls.Load() != 0 {
		r.calls.Store(0)
		r.most.Store(0)
		r.before = 0
	}
}
