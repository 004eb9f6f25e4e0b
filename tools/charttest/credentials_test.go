package charttest

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// The token comes in one way, and is never a plain variable of the Deployment.
func TestWaysOfTheToken(t *testing.T) {
	for _, test := range []struct {
		name, values string
		want         map[string]string // variables whose name begins with LINODE_TOKEN
		file         string            // where a Secret is mounted
	}{
		{"by value", ``, map[string]string{"LINODE_TOKEN": "secret:karpenter/LINODE_TOKEN"}, ""},
		{"by reference", `{apiToken: "", credentialsSecretRef: mine}`, map[string]string{"LINODE_TOKEN": "secret:mine/LINODE_TOKEN"}, ""},
		{"by reference, mounted", `{apiToken: "", credentialsSecretRef: {name: mine}, credentialsSecretMount: true}`,
			map[string]string{"LINODE_TOKEN_FILE": "/var/run/secrets/linode/LINODE_TOKEN"}, "/var/run/secrets/linode"},
		{"by file", `{apiToken: "", apiTokenFile: /vault/token}`, map[string]string{"LINODE_TOKEN_FILE": "/vault/token"}, ""},
		{"by variable", `{apiToken: "", controller: {env: [{name: LINODE_TOKEN, valueFrom: {secretKeyRef: {name: mine, key: k}}}]}}`,
			map[string]string{"LINODE_TOKEN": "secret:mine/k"}, ""},
		{"by a source of variables", `{apiToken: "", controller: {envFrom: [{secretRef: {name: mine}}]}}`, map[string]string{}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := environment(t, test.values)
			for name := range got {
				if !strings.HasPrefix(name, "LINODE_TOKEN") {
					delete(got, name)
				}
			}
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("variables %v, expected %v", got, test.want)
			}
			checkMount(t, deployment(t, test.values).Spec.Template.Spec, test.file)
		})
	}
}

// checkMount checks that the user's Secret is mounted in a folder, read-only, with nothing in it but the token. A single
// file (subPath) would keep the content that it had at the start.
func checkMount(t *testing.T, pod corev1.PodSpec, folder string) {
	t.Helper()
	mounts := pod.Containers[0].VolumeMounts
	if folder == "" {
		if len(mounts)+len(pod.Volumes) > 0 {
			t.Errorf("mounts %v of %v, expected none", mounts, pod.Volumes)
		}
		return
	}
	if len(mounts) != 1 || mounts[0].MountPath != folder || !mounts[0].ReadOnly || mounts[0].SubPath != "" {
		t.Fatalf("mounts: %v", mounts)
	}
	secret := pod.Volumes[0].Secret
	if pod.Volumes[0].Name != mounts[0].Name || secret == nil || secret.SecretName != "mine" ||
		!reflect.DeepEqual(secret.Items, []corev1.KeyToPath{{Key: "LINODE_TOKEN", Path: "LINODE_TOKEN"}}) || *secret.DefaultMode != 0o440 {
		t.Errorf("volume: %v", pod.Volumes[0])
	}
	if pod.SecurityContext.FSGroup == nil {
		t.Error("without a group of its own the controller cannot read the file")
	}
}

// The user's own volumes stay beside the token's.
func TestMountedTokenBesideOtherVolumes(t *testing.T) {
	pod := deployment(t, `{apiToken: "", credentialsSecretRef: mine, credentialsSecretMount: true, extraVolumes: [{name: v, emptyDir: {}}],
		controller: {extraVolumeMounts: [{name: v, mountPath: /v}], sidecarContainer: [{name: side, image: i}]}}`).Spec.Template.Spec
	if len(pod.Volumes) != 2 || len(pod.Containers[0].VolumeMounts) != 2 {
		t.Errorf("volumes %v, mounts %v", pod.Volumes, pod.Containers[0].VolumeMounts)
	}
	for _, mount := range pod.Containers[1].VolumeMounts {
		if mount.Name != "v" {
			t.Errorf("the sidecar has %v", mount)
		}
	}
}

// A new token makes new pods, and what shows that it is new is too little to confirm a guess of the token.
func TestTheChecksumOfTheTokenIsShort(t *testing.T) {
	checksum := func(token string) string {
		return deployment(t, fmt.Sprintf(`apiToken: %q`, token)).Spec.Template.Annotations["checksum/credentials"]
	}
	first, second := checksum("first-token"), checksum("second-token")
	if !regexp.MustCompile(`^[0-9a-f]{8}$`).MatchString(first) || first == second {
		t.Errorf("checksums %q and %q, want 8 hexadecimal digits that differ", first, second)
	}
}
