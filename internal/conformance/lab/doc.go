// Package lab gives tests of the engine a deployment of their own: a server, a
// client, workers that can be stopped, cut off and crashed, and eyes that look
// at Redis itself rather than through the code under test.
//
// [Each] runs a test in real time on every kind of server; [Bubble] runs it in
// a synctest bubble, where hours pass in milliseconds.
package lab
