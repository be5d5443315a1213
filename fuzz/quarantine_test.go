package fuzz

import (
	"testing"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/poisehttp"
)

// The twin of FuzzQuarantine is told the same and keeps only what a person would
// note on paper: since when and until when, of which the latter is known within
// bounds alone.
//
// Claim: The configured number of failures in a row sets the endpoint aside; a success in between starts the count again.
//
// Claim: Admit refuses exactly while the endpoint is aside.
//
// Claim: Each time aside is between half of the backoff and the whole of it.
//
// Claim: A clock that steps back costs at most one more time aside.
//
// Cases: B21, B22, B31.
func FuzzQuarantine(f *testing.F) {
	f.Add(uint8(3), int64(time.Second), uint8(30), uint64(1), []byte{0, 1, 0, 1, 0, 1, 0, 4, 40, 7})
	f.Add(uint8(1), int64(1), uint8(0), uint64(0), []byte{0, 1, 7, 0, 4, 255, 7, 0, 1, 5, 255, 7, 4, 255, 7})
	f.Fuzz(func(t *testing.T, failures uint8, backoff int64, longest uint8, seed uint64, script []byte) {
		first := time.Duration(backoff)
		if first < 1 || first > time.Hour {
			first = time.Duration(uint64(backoff)%uint64(time.Hour)) + 1
		}
		cfg := poisehttp.QuarantineConfig{
			Failures: int(failures) + 1, Backoff: first, MaxBackoff: first * (time.Duration(longest) + 1),
		}
		q, err := poisehttp.NewQuarantine(cfg)
		if err != nil {
			t.Fatal(err)
		}
		type permit struct {
			poisehttp.Permit
			epoch int
		}
		var (
			permits       []permit
			chance        = poise.NewGenerator(seed)
			now           = time.Unix(1<<32, 0)
			epoch, row    int
			backoffNow    time.Duration // of the last time aside since a success; 0 if none
			aside         bool
			since         time.Time
			soonest, last time.Duration // when it may and when it must come back
		)
		for step := 0; step < len(script); step++ {
			argument := byte(0)
			if step+1 < len(script) {
				argument = script[step+1]
			}
			switch op := script[step] % 8; op {
			case 0:
				p, err := q.Admit()
				if (err != nil) != aside {
					t.Fatalf("step %d: aside is %t and Admit answers %v", step, aside, err)
				}
				if err == nil {
					permits = append(permits, permit{p, epoch})
				}
			case 1, 2, 3: // the newest permit fails, succeeds, is cancelled
				if len(permits) == 0 {
					continue
				}
				newest := len(permits) - 1
				p := permits[newest]
				permits = permits[:newest]
				outcome := []poise.Outcome{poise.Failure, poise.Success, poise.Cancelled}[op-1]
				want := false
				switch {
				case p.epoch != epoch || outcome == poise.Cancelled:
				case outcome == poise.Success:
					row, backoffNow = 0, 0
				default:
					row++
					want = row == cfg.Failures || backoffNow > 0
				}
				if want {
					backoffNow = min(max(2*backoffNow, first), cfg.MaxBackoff)
					aside, since, row = true, now, 0
					soonest, last = backoffNow-backoffNow/2, backoffNow
					epoch++
				}
				if got := q.Report(p.Permit, outcome, now, chance); got != want {
					t.Fatalf("step %d: Report of %s is %t, want %t", step, outcome, got, want)
				}
			case 4:
				now = now.Add(time.Duration(argument) * first / 64)
				step++
			case 5:
				now = now.Add(-time.Duration(argument) * time.Duration(argument) * first / 64)
				step++
			default:
				left := q.Return(now)
				if !aside {
					if left != 0 {
						t.Fatalf("step %d: it is not aside and Return answers %v", step, left)
					}
					break
				}
				if now.Before(since) {
					since = now
				}
				elapsed := now.Sub(since)
				if left == 0 {
					if elapsed < soonest {
						t.Fatalf("step %d: it came back after %v, before %v", step, elapsed, soonest)
					}
					aside = false
				} else {
					if left < 0 || elapsed+left < soonest || elapsed+left > last {
						t.Fatalf("step %d: after %v %v are left, want the whole from %v to %v", step, elapsed, left, soonest, last)
					}
					soonest, last = elapsed+left, elapsed+left
				}
			}
			if q.Aside() != aside {
				t.Fatalf("step %d: Aside is %t", step, q.Aside())
			}
		}
	})
}
