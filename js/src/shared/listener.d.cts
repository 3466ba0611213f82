// Listeners of the clients that follow the host.

/** As declared by the program's libraries: browsers and Node have different names for them. */
export type Listener = Parameters<EventTarget["addEventListener"]>[1];
export type ListenerOptions = Parameters<EventTarget["addEventListener"]>[2];
