package wire

import "time"

// Limits of what an option, a name or a payload may hold.
const (
	MaxName       = 64        // bytes of a name of a kind, a node or a queue
	MaxPayload    = 1 << 20   // bytes of one encoded input
	MaxUniqueKey  = 1024      // bytes of a unique key
	MaxRequestKey = 256       // bytes of a request key
	MaxMeta       = 64        // entries
	MaxMetaKey    = 128       // bytes
	MaxMetaValue  = 8 << 10   // bytes; a W3C baggage header fits
	MaxMetaBytes  = 16 << 10  // bytes of all keys and values of one step
	MaxReason     = 1024      // bytes of an operator's reason
	MaxReplicas   = 1000      // replicas to wait for
	MaxAliases    = 64        // former names of one definition
	MaxLostCap    = 1_000_000 // lost attempts
	MaxRecords    = 10_000    // recorded steps of one task
	MaxSignal     = 256 << 10 // bytes of one encoded signal
	MaxTxOps      = 100       // operations of one completion transaction
	MaxTxBytes    = 1 << 20   // bytes of all its keys, fields, values and payloads
	MaxTxKey      = 1024      // bytes of a key or a field in it
	DefaultQueue  = "default"
	// DefaultLostCap is the number of lost attempts after which a step is
	// discarded when its definition does not say otherwise.
	DefaultLostCap = 10
)

// MaxStart is the instant before which every due time must lie, so that
// "milliseconds times 16 plus lane" stays exact in a float64 score.
var MaxStart = time.Date(2150, 1, 1, 0, 0, 0, 0, time.UTC)

// ValidName reports whether s may name a kind, a node, a queue or an alias:
// a letter or digit, then up to 63 letters, digits, dots, underscores or hyphens.
// Such a name needs no quoting in a key, a URL or a shell.
func ValidName(s string) bool {
	if len(s) == 0 || len(s) > MaxName || !alphanumeric(s[0]) {
		return false
	}
	for i := 1; i < len(s); i++ {
		if c := s[i]; !alphanumeric(c) && c != '.' && c != '_' && c != '-' {
			return false
		}
	}
	return true
}

func alphanumeric(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// NameRule is ValidName in words, for error messages.
const NameRule = "must be 1 to 64 letters, digits, '.', '_' or '-', and begin with a letter or a digit"
