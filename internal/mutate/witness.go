package main

import "regexp"

var (
	failure = regexp.MustCompile(`(?m)^( *)--- FAIL: (\S+)`)
	alarm   = regexp.MustCompile(`(?m)^panic: .*`)
)

// witness names the test that failed, with the subtest if there is one, or says of
// what the tests died: a change that is caught by the clock or by a dead server
// may not have been caught at all.
func witness(out []byte) string {
	var name, indent string
	for _, m := range failure.FindAllStringSubmatch(string(out), -1) {
		if name != "" && len(m[1]) <= len(indent) {
			break
		}
		indent, name = m[1], m[2]
	}
	if name != "" {
		return name
	}
	if found := alarm.Find(out); found != nil {
		return string(found)
	}
	return "no test"
}
