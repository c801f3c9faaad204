-- A user's vectors go with the texts they are of; the census asks after them.

delete from loom.erasure_plane where table_name = 'embedding';
insert into loom.erasure_plane (place, plane, table_name, condition, by_namespace, counted) values
  (15, 'embedding', 'embedding', 'user_id = $2', true, true);
