import { describe, expect, it } from 'vitest';
import { isSecretFile } from '@pith/safe-files';

const is = (file: string) => isSecretFile(file.split('/'));

describe('U4 names of files with secrets', () => {
  it.each(
    (
      '.env .env.local .env.production .env-prod .env~ .env.bak ..env.swp .envrc prod.env config/secrets.env .npmrc .netrc .vault-token server.pem a/tls.key ' +
      'id_rsa id_ed25519 id_rsa.bak .id_rsa.swp credentials credentials.json secrets.yaml secrets.prod.yaml secret-staging.json auth.json .codex/auth.json ' +
      'etc/shadow etc/gshadow- etc/ssh/ssh_host_rsa_key .config/gh/hosts.yml service-account-x.json terraform.tfstate terraform.tfstate.backup wp-config.php .ssh/config .aws/x ID_RSA .ENV'
    ).split(' '),
  )('%s: yes', (file) => expect(is(file)).toBe(true));

  it.each(
    (
      '.env.example .env.production.example example.env id_rsa.pub public-key.pem ca.pem src/env.ts environment.ts src/secrets.ts secret-santa.json ' +
      'locales/en/auth.json auth.ts keys.ts keyboard.key.ts .github/hosts.yml package.json hosts.yml docs/etc/shadow ssh_host_rsa_key.pub'
    ).split(' '),
  )('%s: no', (file) => expect(is(file)).toBe(false));
});
