// Package arrows holds the test that keeps the packages of this module in
// their layers: which of them may import which, and which modules from outside
// each may use. The table is in table_test.go.
package arrows
