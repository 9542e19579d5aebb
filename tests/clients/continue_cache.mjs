// In place of the packages sqlite and sqlite3, whose native part is downloaded from outside of the registry: the core
// opens its cache of completions when it is loaded. The requests of the tests do not use it.
export const open = async () => ({ exec: async () => {}, run: async () => {}, get: async () => undefined });
export const Database = undefined;
export default { Database };
