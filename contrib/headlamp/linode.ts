// What Headlamp's Karpenter plugin has to know of this provider. README.md in this folder says where it goes.

/** Name of the definition by which the plugin finds out that the provider is this one. */
export const LINODE_CRD = 'linodenodeclasses.karpenter.k8s.linode';

const condition = (nodeClass, type) =>
  nodeClass.jsonData?.status?.conditions?.find(found => found.type === type);

const ready = nodeClass => {
  const found = condition(nodeClass, 'Ready');
  return found?.status === 'True' ? 'Ready' : found?.reason || 'Not Ready';
};

const column = (id, label, getValue) => ({ id: `nodeclass-${id}`, label, getValue });

/** The list of LinodeNodeClasses. */
export const LINODE = {
  group: 'karpenter.k8s.linode',
  version: 'v1alpha1',
  kind: 'LinodeNodeClass',
  singularName: 'linodenodeclass',
  pluralName: 'linodenodeclasses',
  displayName: 'Linode Node Classes',
  apiVersion: 'karpenter.k8s.linode/v1alpha1',
  annotationPrefix: 'karpenter.k8s.linode',
  detailsRoute: 'nodeclasses-detail',
  columns: [
    'name',
    column('cluster', 'Cluster', nodeClass => nodeClass._clusterName || ''),
    column('status', 'Status', ready),
    column('version', 'Kubernetes', nodeClass => nodeClass.jsonData?.status?.kubernetesVersion || '-'),
    column('image', 'Image', nodeClass => nodeClass.jsonData?.spec?.image || '-'),
    column('firewall', 'Firewall', nodeClass => nodeClass.jsonData?.status?.firewall?.label || '-'),
    'age',
  ],
};

/** Rows of a LinodeNodeClass's page. */
export function linodeInfo(nodeClass) {
  const spec = nodeClass.jsonData?.spec || {};
  const status = nodeClass.jsonData?.status || {};
  const rows = {
    Status: ready(nodeClass),
    Message: condition(nodeClass, 'Ready')?.message,
    'Refused by the Linode API': condition(nodeClass, 'LaunchesAccepted')?.status === 'False' && condition(nodeClass, 'LaunchesAccepted').message,
    Kubernetes: status.kubernetesVersion,
    Image: spec.image,
    Bootstrap: spec.bootstrap?.type,
    Firewall: status.firewall && `${status.firewall.label} (${status.firewall.id})`,
    'Disk encryption': spec.diskEncryption,
    Tags: spec.tags?.join(', '),
  };
  return Object.entries(rows).map(([name, value]) => ({ name, value: value || '-' }));
}
