//go:build interleave

package health

import (
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/internal/syncx"
)

// ReserveOrWatch is how a Runner reserves, for the models of an explorer. It exists
// only under the build tag interleave.
func (h *ActiveHealth) ReserveOrWatch(now time.Time, chance *poise.Generator) (Reservation, time.Duration, *syncx.Event, error) {
	return h.reserveOrWatch(now, chance)
}
