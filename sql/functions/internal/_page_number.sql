create or replace function loom._page_number(p_request jsonb) returns integer
language plpgsql immutable parallel safe
as $$
begin
  return coalesce(loom._integer(p_request, 'page', 1, 1000000), 1);
end
$$;
comment on function loom._page_number(jsonb) is 'Which page of a list of looms, threads or weavings is asked for; the first when left out. LM001.';
