package poisegrpc

import (
	"encoding/json"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/dispatch"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/serviceconfig"
)

// Name is the name under which a Builder without settings is registered.
const Name = "poise"

func init() { balancer.Register(NewBuilder(Name, Config{})) }

// Config are the settings of a Builder that a service config cannot have. The zero value
// is legal.
type Config struct {
	_ struct{}
	// Loop are the settings of the loop. Its Policy, Wake, Published and PublishEvery are
	// the balancer's to set, and its Retry rules are not used: gRPC repeats by itself.
	Loop dispatch.LoopConfig
	// NewPolicy makes the policy of each connection, in place of that of the service
	// config; nil is that.
	NewPolicy func() (poise.Policy, error)
	// Key is the key of a call, in place of its metadata; nil is that.
	Key func(balancer.PickInfo) poise.Key
	// Classify judges the end of a call; nil is [Classify].
	Classify func(balancer.DoneInfo) poise.Result
	// Explain is told why each pick went as it did; nil: nobody is, and nothing is
	// explained. The Decision is the callee's.
	Explain func(balancer.PickInfo, *poise.Decision)
}

// Builder makes balancers for connections of gRPC.
//
// A Builder is made by NewBuilder.
//
// # Contract
//
//   - A service config with a value that cannot be used is refused, and fields that are not known are ignored.
type Builder struct {
	name string
	cfg  Config
}

var (
	_ balancer.Builder      = (*Builder)(nil)
	_ balancer.ConfigParser = (*Builder)(nil)
)

// NewBuilder returns a Builder, to be registered by balancer.Register while the program
// begins.
func NewBuilder(name string, cfg Config) *Builder {
	if cfg.Classify == nil {
		cfg.Classify = Classify
	}
	return &Builder{name, cfg}
}

// Name returns the name, which a service config names.
func (b *Builder) Name() string { return b.name }

// ParseConfig reads a [ServiceConfig].
func (b *Builder) ParseConfig(text json.RawMessage) (serviceconfig.LoadBalancingConfig, error) {
	return parse(text, b.cfg.Key != nil || b.cfg.NewPolicy != nil)
}

// Build makes a balancer for a connection.
func (b *Builder) Build(cc balancer.ClientConn, opts balancer.BuildOptions) balancer.Balancer {
	return newBalancer(&b.cfg, cc, opts)
}
