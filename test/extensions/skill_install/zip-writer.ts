import { crc32, deflateRawSync } from 'node:zlib';

/** One entry of an archive, honest unless it says otherwise. */
export interface ZipFile {
  readonly name: string;
  readonly text?: string | Buffer;
  /** Unix mode with type; 0o100644 where it is absent. */
  readonly mode?: number;
  readonly store?: boolean;
  /** What the headers say instead of the truth. */
  readonly saysSize?: number;
  readonly saysCrc?: number;
  readonly flags?: number;
}

/** The bytes of a zip archive, written by hand, so that it can lie. */
export function zipOf(files: readonly ZipFile[]): Buffer {
  const locals: Buffer[] = [];
  const central: Buffer[] = [];
  let offset = 0;
  for (const file of files) {
    const raw = Buffer.from(file.text ?? '');
    const data = file.store ? raw : deflateRawSync(raw);
    const name = Buffer.from(file.name);
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(0x800 | (file.flags ?? 0), 2);
    common.writeUInt16LE(file.store ? 0 : 8, 4);
    common.writeUInt32LE(0x5821_0000, 6);
    common.writeUInt32LE(file.saysCrc ?? crc32(raw), 10);
    common.writeUInt32LE(data.length, 14);
    common.writeUInt32LE(file.saysSize ?? raw.length, 18);
    common.writeUInt16LE(name.length, 22);
    const local = Buffer.concat([Buffer.from('PK\x03\x04', 'latin1'), common, name, data]);
    const tail = Buffer.alloc(14);
    tail.writeUInt32LE(((file.mode ?? 0o100644) << 16) >>> 0, 6);
    tail.writeUInt32LE(offset, 10);
    central.push(Buffer.concat([Buffer.from('PK\x01\x02\x14\x03', 'latin1'), common, tail, name]));
    locals.push(local);
    offset += local.length;
  }
  const directory = Buffer.concat(central);
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06', 0, 'latin1');
  end.writeUInt16LE(files.length, 8);
  end.writeUInt16LE(files.length, 10);
  end.writeUInt32LE(directory.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...locals, directory, end]);
}
