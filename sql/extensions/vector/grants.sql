-- As sql/grants.sql, behind it: what the functions and tables of vectors need.

grant select, insert, delete on loom.embedding to loom_api;
grant update (plane, content_sha256, embedding, made_at) on loom.embedding to loom_api;
grant select on loom.embedding to loom_search, loom_scheduler;
grant delete on loom.embedding to loom_scheduler;
grant execute on function loom._search_vector(loom.caller, loom.search_filter, text, jsonb, integer) to loom_api;
grant execute on function loom._embedding_current(text, uuid, text, text), loom._embedding_remove(text, integer)
  to loom_scheduler;

-- Where the extension itself is in schema loom, its functions have lost what PUBLIC may do with them.
do $$
declare
  v_function record;
begin
  for v_function in
    select p.oid::regprocedure as signature
    from pg_catalog.pg_depend as d
    join pg_catalog.pg_extension as e on e.oid = d.refobjid and e.extname = 'vector'
    join pg_catalog.pg_proc as p on p.oid = d.objid
    where d.classid = 'pg_proc'::regclass and d.refclassid = 'pg_extension'::regclass and d.deptype = 'e'
      and not (has_function_privilege('loom_owner', p.oid, 'execute')
        and has_function_privilege('loom_api', p.oid, 'execute')
        and has_function_privilege('loom_search', p.oid, 'execute'))
  loop
    execute format('grant execute on function %s to loom_owner, loom_api, loom_search', v_function.signature);
  end loop;
end
$$;
