package cyclone_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/wire"
)

// TestOptionsAreLegalWhereTheyMakeSense is the table of options by place.
func TestOptionsAreLegalWhereTheyMakeSense(t *testing.T) {
	t.Parallel()
	const definition, enqueue, node, run = 1, 2, 4, 8
	tests := []struct {
		name   string
		option any
		legal  int
	}{
		{"WithMaxAttempts", cyclone.WithMaxAttempts(1), definition | enqueue | node},
		{"Retry", cyclone.Retry(cyclone.RetryPolicy{MaxAttempts: 1}), definition | enqueue | node},
		{"WithQueue", cyclone.WithQueue("q"), definition | enqueue | node},
		{"WithPriority", cyclone.WithPriority(cyclone.Low), definition | enqueue | node},
		{"WithTimeout", cyclone.WithTimeout(time.Second), definition | enqueue | node},
		{"WithRetention", cyclone.WithRetention(time.Second), definition | enqueue | node | run},
		{"WithDelay", cyclone.WithDelay(time.Second), enqueue | node},
		{"WithStartAt", cyclone.WithStartAt(time.Unix(1, 0)), enqueue | node},
		{"WithExpiry", cyclone.WithExpiry(time.Second), enqueue | node},
		{"WithUnique", cyclone.WithUnique(cyclone.Unique{}), definition | enqueue | run},
		{"WithMeta", cyclone.WithMeta("k", "v"), definition | enqueue | run},
		{"WithBackoff", cyclone.WithBackoff(func(int) time.Duration { return 0 }), definition},
		{"WithLostAttempts", cyclone.WithLostAttempts(cyclone.CountLost), definition},
		{"WithLostCap", cyclone.WithLostCap(1), definition},
		{"WithAlias", cyclone.WithAlias("y"), definition},
		{"WithRequestKey", cyclone.WithRequestKey("k"), enqueue},
		{"WaitReplicas", cyclone.WaitReplicas(1), enqueue},
	}
	for _, tt := range tests {
		var applied []wire.Options
		legal := 0
		if o, ok := tt.option.(cyclone.DefinitionOption); ok {
			legal |= definition
			var def wire.Definition
			o.ApplyDefinition(&def)
			applied = append(applied, def.Options)
		}
		if o, ok := tt.option.(cyclone.EnqueueOption); ok {
			legal |= enqueue
			var given wire.Options
			o.ApplyEnqueue(&given)
			applied = append(applied, given)
		}
		if o, ok := tt.option.(cyclone.NodeOption); ok {
			legal |= node
			var given wire.Options
			o.ApplyNode(&given)
			applied = append(applied, given)
		}
		if o, ok := tt.option.(cyclone.RunOption); ok {
			legal |= run
			var given wire.Options
			o.ApplyRun(&given)
			applied = append(applied, given)
		}
		if legal != tt.legal {
			t.Errorf("%s is legal in %04b, want %04b", tt.name, legal, tt.legal)
		}
		for _, options := range applied {
			if diff := cmp.Diff(applied[0], options); diff != "" {
				t.Errorf("%s means something else elsewhere:\n%s", tt.name, diff)
			}
			if tt.legal != definition && options.Set == 0 {
				t.Errorf("%s sets nothing", tt.name)
			}
			if err := options.Validate(); err != nil {
				t.Errorf("%s: %v", tt.name, err)
			}
		}
	}
}
