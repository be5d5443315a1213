package poisehttp

import (
	"net/http"

	"github.com/copyleftdev/poise-go/pkg/observe"
)

// MetricsHandler returns a handler that answers with what the Metrics have counted, in
// the text format of Prometheus, as observe.AppendText writes it: by the name that each
// has in the map, which may be empty for one alone. The map must not change.
//
// # Contract
//
//   - A MetricsHandler answers GET and HEAD, and 405 to any other method.
func MetricsHandler(of map[string]*observe.Metrics) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
			return
		}
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		_, _ = w.Write(observe.AppendText(nil, of))
	})
}
