// Package controllers holds no code of its own: the provider's controllers are in the folders below, and the
// suite that runs them in a manager against a real API server is here.
package controllers
