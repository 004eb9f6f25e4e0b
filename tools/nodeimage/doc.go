// Package nodeimage has the tests of docs/examples/image/kubeadm-node.sh, which docs/images.md and docs/image-contents.md describe.
//
// They run the whole script below a root folder of the test, against a server of releases over TLS: arguments, checksums, written files, a
// second run, and the removals before an image is made. Systemd's own systemctl enables the units in that folder. The server has small
// files of the test.
//
// Not covered: the real releases and package servers, a boot, and the commands that act on a running machine: with --root the script only
// prints them.
package nodeimage
