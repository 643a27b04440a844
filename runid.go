package cyclone

import (
	"fmt"
	"strconv"
)

// RunID identifies a run within a deployment. It is a positive number, written in
// decimal; as text it survives JSON readers that round large numbers.
type RunID int64

// ParseRunID reads what [RunID.String] writes: decimal digits, no sign, no leading zero.
func ParseRunID(s string) (RunID, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n <= 0 || s[0] == '+' || s[0] == '0' {
		return 0, fmt.Errorf("cyclone: run id %.40q: must be a positive decimal number", s)
	}
	return RunID(n), nil
}

// String returns the id in decimal.
func (id RunID) String() string { return strconv.FormatInt(int64(id), 10) }

// MarshalText makes the id a string in JSON.
func (id RunID) MarshalText() ([]byte, error) { return strconv.AppendInt(nil, int64(id), 10), nil }

// UnmarshalText reads the id back; "0" is the zero id.
func (id *RunID) UnmarshalText(text []byte) error {
	if string(text) == "0" {
		*id = 0
		return nil
	}
	parsed, err := ParseRunID(string(text))
	if err != nil {
		return err
	}
	*id = parsed
	return nil
}
