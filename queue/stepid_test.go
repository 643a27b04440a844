package queue

import (
	"testing"
)

func TestStepIDsComeBackAsTheyWere(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]StepID{
		"1": {Run: 1}, "9223372036854775807": {Run: 1<<63 - 1}, "123.0": {Run: 123, Node: 1}, "123.7": {Run: 123, Node: 8},
	} {
		got, ok := parseStepID(text)
		if !ok || got != want || got.String() != text {
			t.Errorf("%s: %+v, %v, %s", text, got, ok, got)
		}
	}
	for _, text := range []string{
		"", "0", "-1", "01", "+1", "x", ".", "1.", ".1", "1.01", "1.-1", "1.+1", "1.1.1", "1.x", "1.99999999", "9223372036854775808", "1:2",
	} {
		if got, ok := parseStepID(text); ok {
			t.Errorf("%q is read as %+v", text, got)
		}
	}
}
