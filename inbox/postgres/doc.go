// Package postgres holds the tests of package inbox on a real PostgreSQL. It is a
// module of its own, so that the driver stays out of the library's go.mod.
package postgres
