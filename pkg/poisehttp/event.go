package poisehttp

import (
	"net/http"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/observe"
)

// Event is what became of one attempt.
type Event struct {
	_ struct{}
	// Request is the caller's request. It is not to be changed.
	Request *http.Request
	// Endpoint is the identity of the endpoint.
	Endpoint string
	// Attempt counts the attempts of the call from 1.
	Attempt int
	// Choice is how the attempt came to the endpoint.
	Choice observe.Choice
	// Result is how the attempt was judged.
	Result poise.Result
	// Late is what became of the response body; a success if there was none.
	Late poise.Result
	// Status is the status code of the response, 0 if there was none.
	Status int
	// Began is the instant of the attempt.
	Began time.Time
	// Header is the time from admission to the response header or the error.
	Header time.Duration
	// Total is the time from admission to the end of the body.
	Total time.Duration
	// Retried means that another attempt followed.
	Retried bool
	// Decision says why the endpoint was picked, if Config.Explain wanted it.
	Decision *poise.Decision
}
