// Package wire holds what passes between the public packages of Cyclone but is
// not for its users: the settings behind the options, the definition behind an
// action, step or task, and the specification behind a request.
//
// It knows nothing of Redis, and imports nothing of the module but retry.
package wire
