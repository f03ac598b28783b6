import type { InputField } from './saved-skill.ts';

interface Example {
  readonly address: string;
  /** null: requests need no signature. */
  readonly key: string | null;
  readonly inputs: readonly InputField[];
}

/** A request to a webhook as a person types it into a shell, signed by Standard Webhooks. */
export function curlExample({ address, key, inputs }: Example): string {
  const body = JSON.stringify(Object.fromEntries(inputs.map((field) => [field.name, exampleOf(field)])));
  const headers = [
    'content-type: application/json',
    ...(key === null ? [] : ['webhook-id: $ID', 'webhook-timestamp: $TIME', 'webhook-signature: v1,$SIGNATURE']),
  ];
  return [
    `BODY=${quoted(body)}`,
    ...(key === null
      ? []
      : [
          `KEY=${quoted(key)}`,
          'ID="$(od -An -N16 -tx1 /dev/urandom | tr -d \' \\n\')"',
          'TIME="$(date +%s)"',
          'HEX="$(printf %s "${KEY#whsec_}" | base64 -d | od -An -v -tx1 | tr -d \' \\n\')"',
          'SIGNATURE="$(printf %s "$ID.$TIME.$BODY" | openssl dgst -sha256 -mac HMAC -macopt "hexkey:$HEX" -binary | base64)"',
        ]),
    `curl ${quoted(address)} \\`,
    ...headers.map((header) => `  -H "${header}" \\`),
    '  --data "$BODY"',
  ].join('\n');
}

function exampleOf({ type, default: preset, choices }: InputField): string | number | boolean {
  const text = preset ?? choices[0];
  if (type === 'int' || type === 'float') return Number(text ?? 1);
  if (type === 'bool') return text === 'true';
  return text ?? (type === 'url' ? 'https://example.com' : '…');
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
