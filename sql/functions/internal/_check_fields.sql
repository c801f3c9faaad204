create or replace function loom._check_fields(p_request jsonb, p_accepted text[]) returns jsonb
language sql immutable parallel safe
as $$
  select case
    when jsonb_typeof(p_request) is distinct from 'object' or p_request - p_accepted is distinct from '{}'
      then loom._fields_refused(p_request, p_accepted)
    else p_request
  end
$$;
comment on function loom._check_fields(jsonb, text[]) is
  'The request, when it is a JSON object of accepted fields; LM001 names the first unknown one.';
