import os from 'node:os';
import path from 'node:path';

/** The user's home folder, absolute: where HOME is empty or relative, it would be a folder of whatever is opened. */
export function userHome(): string {
  const home = os.homedir();
  return path.isAbsolute(home) ? home : os.userInfo().homedir;
}
