package charttest

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/charts"
)

func bootstrapToken(id, group string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "bootstrap-token-" + id}, Type: "bootstrap.kubernetes.io/token",
		StringData: map[string]string{"token-id": id, "token-secret": "0123456789abcdef", "auth-extra-groups": group,
			"usage-bootstrap-authentication": "true"},
	}
}

// RBAC would allow three things that the policy refuses to the operator's account: a token of another account, a bootstrap token of
// another group, and the removal of another program's Secret. In instance mode the policy exists without a value.
func TestOperatorWritesNoSecretsButItsBootstrapTokens(t *testing.T) {
	b := withDefinitions(t)
	b.install(t, "karpenter", "../../charts/karpenter", map[string]any{
		"apiToken": "not-a-token", "region": "us-ord", "settings": map[string]any{"clusterName": "demo", "mode": "instance"},
	}, charts.ResetValues)
	ctx, admin := t.Context(), b.as(t, "admin")
	// The account has the rights of the chart in one case, and all rights in the other.
	account := as(t, b.config, theController, "system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated")
	mighty := b.as(t, theController)
	const group = "system:bootstrappers:karpenter"
	stolen := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "stolen",
		Annotations: map[string]string{"kubernetes.io/service-account.name": "default"}}, Type: corev1.SecretTypeServiceAccountToken}
	const words = "of Secrets the operator creates and deletes only"
	enforced(t, b)

	eventually(t, "allowed to make its own token", func() bool { return account.Create(ctx, bootstrapToken("aaaaaa", group)) == nil })
	accepted(t, "its own token's end", account.Delete(ctx, bootstrapToken("aaaaaa", group)))

	generated := stolen.DeepCopy()
	generated.Name, generated.GenerateName = "", "bootstrap-token-"
	named := stolen.DeepCopy()
	named.Name = "bootstrap-token-bbbbbb"
	opaque := bootstrapToken("cccccc", group)
	opaque.Type = corev1.SecretTypeOpaque
	elsewhere := bootstrapToken("dddddd", group)
	elsewhere.Namespace = "default"
	for what, secret := range map[string]*corev1.Secret{
		"the token of a service account": stolen, "the same under the name of a bootstrap token": named,
		"the same with a generated name": generated,
		"an opaque Secret of the name":   opaque, "a token without a group": bootstrapToken("eeeeee", ""),
		"a token of kubeadm's group": bootstrapToken("ffffff", "system:bootstrappers:kubeadm:default-node-token"),
		"a token of one group more":  bootstrapToken("gggggg", group+",system:bootstrappers:kubeadm:default-node-token"),
	} {
		refused(t, what, account.Create(ctx, secret), words)
	}
	refused(t, "a token in another namespace", mighty.Create(ctx, elsewhere), words)

	foreign := bootstrapToken("hhhhhh", "system:bootstrappers:kubeadm:default-node-token")
	own := bootstrapToken("iiiiii", group)
	accepted(t, "an administrator's token", admin.Create(ctx, foreign.DeepCopy()))
	accepted(t, "another token of its own", account.Create(ctx, own.DeepCopy()))
	refused(t, "the end of an administrator's token", account.Delete(ctx, foreign.DeepCopy()), words)
	changed := own.DeepCopy()
	changed.StringData = map[string]string{"auth-extra-groups": group + ",system:bootstrappers:kubeadm:default-node-token"}
	refused(t, "another group for its own token", mighty.Patch(ctx, changed, client.MergeFrom(own)), words)
	if err := account.Get(ctx, client.ObjectKeyFromObject(own), &corev1.Secret{}); err == nil {
		t.Error("the account may read Secrets of kube-system")
	}
}
