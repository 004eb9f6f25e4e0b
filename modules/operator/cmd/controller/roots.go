package main

// The image may have no certificates, because its base is empty when it is built without a network. The standard library uses these
// roots only if the system has none.
import _ "golang.org/x/crypto/x509roots/fallback"
