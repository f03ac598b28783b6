import type { z } from 'pith';
import { once } from '@pith/promises';

/** A schema that is made when a call is first checked by it: most processes call few tools. */
export function lateInput<Schema extends z.ZodType>(make: () => Schema): Schema {
  const schema = once(make);
  return new Proxy({} as Schema, {
    get: (_, name) => Reflect.get(schema(), name) as unknown,
    has: (_, name) => Reflect.has(schema(), name),
  });
}
