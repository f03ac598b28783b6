/** Names of files that hold keys, passwords or tokens. The one list: agents read them only when a person approves that file, and commands in a sandbox see them empty. */
const FILES: readonly RegExp[] = [
  /^\.env(?:\..*)?$/u,
  /^\.(?:npmrc|yarnrc|yarnrc\.yml|pypirc|netrc|git-credentials|pgpass|my\.cnf|htpasswd|dockercfg|terraformrc|s3cfg|boto)$/u,
  /^_netrc$/u,
  /\.(?:pem|key|p12|pfx|jks|keystore|kdbx|ppk|ovpn|asc|gpg|age)$/u,
  /^id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?$/u,
  /^(?:credentials|secrets?)(?:\.(?:json|ya?ml|toml|ini|txt|properties|env))?$/u,
  /^(?:service[-_]account|client[-_]secret|gcloud|firebase-adminsdk).*\.json$/u,
  /\.(?:tfstate|tfvars)(?:\.backup)?$/u,
  /^(?:master|production|development|staging)\.key$/u,
  /^(?:kubeconfig|\.kubeconfig)$/u,
];
const FOLDERS: readonly RegExp[] = [/^\.(?:ssh|gnupg|aws|azure|kube|docker|password-store)$/u];
/** What looks like one of them and is for everybody. */
const PUBLIC =
  /^\.env\.(?:example|sample|template|dist|defaults?)$|\.pub$|(?:^|[._-])public[._-]?key\.|^(?:ca|cacert|ca-bundle|ca-certificates)\.pem$/u;

/** True when a file with these names on its way, from a project or home folder down, may contain secrets. Case does not count. */
export function isSecretFile(names: readonly string[]): boolean {
  const plain = names.map((name) => name.normalize('NFKC').toLowerCase());
  const file = plain.at(-1) ?? '';
  if (plain.slice(0, -1).some((name) => FOLDERS.some((test) => test.test(name)))) return true;
  return !PUBLIC.test(file) && FILES.some((test) => test.test(file));
}
