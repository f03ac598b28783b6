import type { JsonValue } from '../../contract/json.ts';

type Schema = Readonly<Record<string, unknown>>;

/** An input that a tool's own schema gives, or the property that it gives none for. */
export type Sample = { readonly input: JsonValue } | { readonly lacking: string };

/** From `examples`, `default`, `const` and `enum`; what is optional is left out. */
export function sampleInput(schema: Schema, path = 'the input'): Sample {
  const known = ownSample(schema);
  if (known !== undefined) return { input: known };
  if (schema['type'] === 'boolean') return { input: false };
  if (schema['type'] === 'array' && !(Number(schema['minItems'] ?? 0) > 0)) return { input: [] };
  if (schema['type'] !== 'object') return { lacking: path };
  const properties = (schema['properties'] ?? {}) as Readonly<Record<string, Schema>>;
  const required = new Set((schema['required'] ?? []) as readonly string[]);
  const input: Record<string, JsonValue> = {};
  for (const [name, property] of Object.entries(properties)) {
    const found = sampleInput(property, name);
    if ('input' in found && (required.has(name) || ownSample(property) !== undefined)) input[name] = found.input;
    else if ('lacking' in found && required.has(name)) return found;
  }
  return { input };
}

function ownSample({ examples, default: fallback, const: constant, enum: choices }: Schema): JsonValue | undefined {
  const [example] = Array.isArray(examples) ? (examples as readonly JsonValue[]) : [];
  const [choice] = Array.isArray(choices) ? (choices as readonly JsonValue[]) : [];
  return example ?? (fallback as JsonValue | undefined) ?? (constant as JsonValue | undefined) ?? choice;
}
