import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { valueCheck } from '@pith/tool-schemas';
import { expect, it } from 'vitest';

const name = fc.constantFrom('a', 'b', 'ab', 'c');
const scalar = fc.oneof(fc.constantFrom(null, true, false, 0, 1, 2, 1.5, -3, '', 'a', 'ab', 'aab', '😀'), fc.integer({ min: -4, max: 12 }));
const value = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    scalar,
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(name, tie('value'), { maxKeys: 3, noNullPrototype: true }),
  ),
})).value;

const schema = fc.letrec<{ schema: unknown }>((tie) => {
  const some = (): fc.Arbitrary<unknown> => tie('schema');
  const size = fc.integer({ min: 0, max: 3 });
  const list = fc.array(some(), { minLength: 1, maxLength: 3 });
  const keywords = {
    type: fc.oneof(fc.constantFrom('string', 'number', 'integer', 'boolean', 'null', 'array', 'object'), fc.constant(['string', 'array'])),
    enum: fc.array(value, { minLength: 1, maxLength: 3 }),
    const: value,
    minLength: size,
    maxLength: size,
    pattern: fc.constantFrom('^a', 'b$', 'a+b', '^(a|b)*$', '.'),
    minimum: size,
    maximum: size,
    exclusiveMinimum: size,
    exclusiveMaximum: size,
    multipleOf: fc.constantFrom(1, 2, 0.5),
    items: some(),
    prefixItems: list,
    contains: some(),
    minContains: size,
    maxContains: size,
    minItems: size,
    maxItems: size,
    uniqueItems: fc.boolean(),
    properties: fc.dictionary(name, some(), { maxKeys: 3, noNullPrototype: true }),
    patternProperties: fc.dictionary(fc.constantFrom('^a', 'b$'), some(), { maxKeys: 2, noNullPrototype: true }),
    additionalProperties: some(),
    propertyNames: some(),
    required: fc.uniqueArray(name, { maxLength: 2 }),
    minProperties: size,
    maxProperties: size,
    allOf: list,
    anyOf: list,
    oneOf: list,
    not: some(),
    $ref: fc.constant('#/$defs/one'),
  };
  const few = fc
    .subarray(Object.keys(keywords) as (keyof typeof keywords)[], { maxLength: 4 })
    // Of these two together the other one lets an empty list pass.
    .map((chosen) => chosen.filter((each) => each !== 'contains' || !chosen.includes('prefixItems')))
    .chain((chosen) => fc.record(Object.fromEntries(chosen.map((each) => [each, keywords[each]])), { noNullPrototype: true }));
  return { schema: fc.oneof({ depthSize: 'small' }, fc.boolean(), few) };
}).schema;

it('accepts and refuses the same values as another implementation of JSON Schema 2020-12', async () => {
  await fc.assert(
    fc.asyncProperty(schema, schema, fc.array(value, { minLength: 5, maxLength: 5 }), async (one, top, values) => {
      const json = { allOf: [top], $defs: { one: refless(one) } };
      const accepts = new Ajv2020({ strict: false, logger: false }).compile(json);
      const check = valueCheck(json as never);
      for (const each of values) {
        const checked = await check.check(each);
        expect({ json, each, ok: 'value' in checked }).toEqual({ json, each, ok: accepts(each) });
      }
    }),
    { numRuns: 200 },
  );
});

/** Without references, which would lead back to itself. */
function refless(schema: unknown): unknown {
  return JSON.parse(JSON.stringify(schema, (key, each: unknown) => (key === '$ref' ? undefined : each)));
}
