import { isPlainMap } from '@pith/plain-data';
import { sentSchema } from '@pith/tool-schemas';

/** A tool as a server lists it, as far as it is used. */
export interface ServerTool {
  readonly name: string;
  readonly description?: string;
  readonly inputSchema: Fields;
  /** Characters of the schema that a model is told. */
  readonly schemaSize: number;
  readonly outputSchema?: Fields;
  readonly annotations?: Fields;
}

type Fields = Readonly<Record<string, unknown>>;

const LONGEST_NAME = 512;
/** Of all that a server says of one tool, in characters; what a model is told of it has a smaller bound. */
const LARGEST = 256 * 1024;

/** The tool, or why it cannot be offered. What is not needed to call it may be of any kind. */
export function readTool(given: unknown): ServerTool | string {
  if (!isPlainMap(given)) return 'it is no map';
  const { name, title, description, inputSchema, outputSchema, annotations } = given;
  if (typeof name !== 'string') return 'its name is no text';
  if (name === '' || name.length > LONGEST_NAME) return `its name must have 1 to ${LONGEST_NAME} characters`;
  if (sizeOf(given) > LARGEST) return `what is said of it is longer than ${LARGEST / 1024} KB, or nested too deep`;
  const sent = sentSchema(inputSchema);
  if ('problem' in sent) return sent.problem;
  const words = [description, title].find((each) => typeof each === 'string' && each !== '');
  return {
    name,
    ...(words === undefined ? {} : { description: words as string }),
    inputSchema: isPlainMap(inputSchema) ? inputSchema : { type: 'object' },
    schemaSize: sent.size,
    ...(isPlainMap(outputSchema) ? { outputSchema } : {}),
    ...(isPlainMap(annotations) ? { annotations } : {}),
  };
}

function sizeOf(given: unknown): number {
  try {
    return JSON.stringify(given).length;
  } catch {
    return Infinity; // deeper than it can be written
  }
}
