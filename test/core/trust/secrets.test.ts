import { describe, expect, it } from 'vitest';
import { createSecrets } from '../../../core/trust/index.ts';
import { words } from '../../words.ts';

function redacted(value: string): boolean {
  const secrets = createSecrets({ NAME: value });
  secrets.declare(['NAME']);
  return secrets.redact(`before ${value} after`) === 'before [secret NAME] after';
}

describe('a declared secret', () => {
  it.each(['http://127.0.0.1:8080/v1', 'https://models.example.com/openai/v1/', 'https://example.com'])(
    'K61 that is the mere address of a server is named in texts: %s',
    (address) => expect(redacted(address)).toBe(false),
  );

  it.each(
    words(`
    https://user:word@example.com/v1 https://token@example.com/v1 https://example.com/v1?key=abc https://example.com/v1#abc
    https://hooks.example.com/services/T00000000/B00000000/XyZabc0123456789XyZabc01 postgres://example.com/base
    canary-0123456789
  `),
  )('K61 is kept out of texts: %s', (value) => expect(redacted(value)).toBe(true));
});
