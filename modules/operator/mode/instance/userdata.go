package instance

import (
	"cmp"
	"context"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/karpenter-linode/karpenter-linode/modules/instances"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/bootstrap"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/cloudprovider"
)

// ingredients holds what user data needs from outside the class. What a type does not need is empty.
type ingredients struct {
	cluster  bootstrap.Cluster
	token    string
	userData []byte // the user's own
}

// gather reads what the class's way to join needs. token issues the node's own token where it has one.
func (b *Backend) gather(ctx context.Context, class *v1alpha1.LinodeNodeClass, token func() (string, error)) (ingredients, error) {
	settings := ptr.Deref(class.Spec.Bootstrap, v1alpha1.Bootstrap{})
	var from ingredients
	var err error
	how := typeOf(class.Spec)
	if how.JoinsEndpoint {
		if from.cluster, err = b.joined(ctx, class, settings); err != nil {
			return from, err
		}
	}
	if how.UserData {
		if from.userData, err = b.secret(ctx, "spec.bootstrap.userDataSecretRef", settings.UserDataSecretRef); err != nil {
			return from, err
		}
	}
	switch {
	case how.Token == bootstrap.NodeToken:
		from.token, err = token()
	case settings.TokenSecretRef != nil:
		var secret []byte
		secret, err = b.secret(ctx, "spec.bootstrap.tokenSecretRef", settings.TokenSecretRef)
		from.token = strings.TrimSpace(string(secret))
	}
	return from, err
}

// joined returns what nodes of the class join: what the class sets, else what was read of the cluster.
func (b *Backend) joined(ctx context.Context, class *v1alpha1.LinodeNodeClass, settings v1alpha1.Bootstrap) (bootstrap.Cluster, error) {
	found, err := b.cfg.Joined.Cluster(ctx)
	target := bootstrap.Cluster{
		Endpoint: cmp.Or(settings.APIServerEndpoint, found.Endpoint), CACertHashes: settings.CACertHashes,
		Version: class.Status.KubernetesVersion,
	}
	if len(target.CACertHashes) == 0 {
		target.CACertHashes = found.CACertHashes
	}
	unhashed := typeOf(class.Spec).PinsCA && len(target.CACertHashes) == 0
	switch {
	case err != nil && (target.Endpoint == "" || unhashed):
		return target, &problem{reason: v1alpha1.ReasonCheckFailed, field: "spec.bootstrap",
			text: "the cluster's endpoint or CA could not be read; trying again", unknown: true, err: err}
	case target.Endpoint == "":
		return target, &problem{reason: v1alpha1.ReasonEndpointUnknown, field: "spec.bootstrap.apiServerEndpoint",
			text: "the address that nodes join is not known: the cluster has no ConfigMap kube-public/cluster-info; set this field, or the " +
				"chart's settings.clusterEndpoint"}
	case unhashed:
		return target, &problem{reason: v1alpha1.ReasonCAUnknown, field: "spec.bootstrap.caCertHashes",
			text: "the cluster's CA is not known; set this field, or the chart's settings.clusterCABundle"}
	}
	return target, nil
}

// typeOf returns the row of the class's bootstrap type. The zero row, of a name that the API server does not let pass, renders nothing.
func typeOf(spec v1alpha1.LinodeNodeClassSpec) bootstrap.Type {
	row, _ := bootstrap.TypeOf(string(spec.BootstrapType()))
	return row
}

// render returns the user data of a node. It is pure.
func render(class *v1alpha1.LinodeNodeClass, node bootstrap.Node, from ingredients) (instances.UserData, error) {
	settings := ptr.Deref(class.Spec.Bootstrap, v1alpha1.Bootstrap{})
	how, err := bootstrap.TypeOf(string(class.Spec.BootstrapType()))
	if err != nil {
		return instances.UserData{}, renderProblem(err)
	}
	rendered, err := how.Render(bootstrap.Inputs{
		Config: bootstrap.Config{Node: node, Cluster: from.cluster, Before: settings.PreJoinCommands, After: settings.PostJoinCommands},
		Token:  from.token, Installer: settings.InstallerURL, UserData: from.userData,
	})
	if err != nil {
		return instances.UserData{}, renderProblem(err)
	}
	return instances.UserData(rendered), nil
}

func (b *Backend) userData(ctx context.Context, l cloudprovider.Launch, name string) (instances.UserData, error) {
	from, err := b.gather(ctx, l.NodeClass, func() (string, error) {
		token, err := b.cfg.Tokens.Issue(ctx, l.NodeClaim)
		if err != nil {
			return "", &problem{reason: v1alpha1.ReasonCheckFailed, field: "bootstrap token", text: err.Error(), unknown: true, err: err}
		}
		return token, nil
	})
	if err != nil {
		return instances.UserData{}, err
	}
	return render(l.NodeClass, b.nodeOfClaim(name, l, typeOf(l.NodeClass.Spec)), from)
}
