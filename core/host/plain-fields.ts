import { messageOf } from '../contract/errors.ts';

/** Fields of a log record as JSON, so that they cross whatever they hold. */
export function plainFields(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  try {
    return JSON.parse(
      JSON.stringify(fields, (_, value: unknown) =>
        value instanceof Error ? { message: value.message, stack: value.stack } : typeof value === 'bigint' ? String(value) : value,
      ),
    ) as Record<string, unknown>;
  } catch (error) {
    return { fields: `not serialisable: ${messageOf(error)}` };
  }
}
